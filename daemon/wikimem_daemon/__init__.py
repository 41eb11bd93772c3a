"""The daemon process: watches the vault, keeps the index in step, answers on the socket."""
