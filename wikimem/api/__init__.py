"""The protocol's types and the clients that speak it."""
