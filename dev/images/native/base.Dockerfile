FROM scratch
ADD rootfs.tar /
CMD ["/bin/sh"]
