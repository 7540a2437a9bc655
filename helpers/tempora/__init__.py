"""In preparation: what does test-time adaptation deliver when time is limited?"""
