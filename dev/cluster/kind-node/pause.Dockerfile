FROM scratch
COPY pause /
ENTRYPOINT ["/pause"]
