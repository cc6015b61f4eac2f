"""Test vectors for clients, and a second reading of docs/device.md that makes them."""
