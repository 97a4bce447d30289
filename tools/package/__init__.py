"""What a release consists of, into dist/: `make package`."""
