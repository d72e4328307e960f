"""What bytes come in: files, compression, pieces of lines, HDF5, Zarr, NumPy, tables."""
