def check_memory(*a, **k): return None
def fitting_threads(run, params, axes, n, **k): return n
