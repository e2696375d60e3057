"""What every other room stands on: registry, plain results, errors, provenance and safe writing of files."""
