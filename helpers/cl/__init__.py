"""In preparation: what did a model keep, lose and transfer over a sequence of tasks?"""
