"""switchd: the control plane of the software switch."""
