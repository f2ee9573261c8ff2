"""Programs that run in the processes of engines; each is started by its path."""
