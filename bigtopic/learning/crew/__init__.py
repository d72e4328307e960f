"""Crews: threads that stay in compiled code while they make delayed updates, for kernels with a loop over slices.

What a round sees, and so what it computes, is what it would see in `executors.pipeline`. There, threads are in Python
between any two compiled calls: at a few milliseconds for a minibatch, most of many threads would wait for the
interpreter's lock.

A thread *takes* a slice: it *looks up* local ids of its words. It *gathers* their rows, and *infers* the documents;
slices of one group more than those at work are looked up. Of a round of two slices, the thread that infers the last one
*joins* them. Then the round *steps*: its statistics move the params, but what they add to rows is put off. The rounds
of a group step *at once* where their weights and decays are known before. One thread at a time *leads*: it does what is
Python, which is to read documents and to step. A group (`plan.delays.Groups`) is

* *posted* when its documents are in the tables, so that threads may take its slices;
* *sealed* when all its rounds have stepped;
* *settled* when what they put off has been added to the rows. Threads share this work: each takes a *part*, with rows
  of its own.
"""
