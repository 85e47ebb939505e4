#!/bin/sh
echo "Node is part of this image: $(node --version)"
