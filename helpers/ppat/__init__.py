"""In preparation: what is the risk of this model, with few labels and a cheap predictor?"""
