"""Models on disk: where each comes from, how it is prepared once, and where it lies afterwards."""
