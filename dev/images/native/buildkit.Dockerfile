# The programs of moby/buildkit's image, where they are in it.
FROM scratch
COPY buildkitd buildctl buildkit-runc /usr/bin/
