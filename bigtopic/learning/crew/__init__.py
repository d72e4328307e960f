"""Crews: threads that stay in compiled code while they make delayed updates, for kernels with a loop over slices.

What a round sees, and so what it computes, is what it would see in `executors.pipeline`. There, threads are in Python
between any two compiled calls: at a few milliseconds for a minibatch, most of many threads would wait for the
interpreter's lock.
"""
