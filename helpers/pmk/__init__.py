"""In preparation: does a model hold from one video frame to the next?"""
