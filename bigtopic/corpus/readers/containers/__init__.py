"""What bytes come in: files, compression, pieces of lines, tables of text, HDF5, Zarr, NumPy, tables."""
