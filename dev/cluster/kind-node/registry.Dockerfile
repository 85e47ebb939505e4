FROM localhost/gx-kind-base
COPY registry /usr/local/bin/
RUN printf '%s\n' 'version: 0.1' 'storage: {delete: {enabled: true}, filesystem: {rootdirectory: /var/lib/registry}}' 'http: {addr: ":5000"}' \
      > /etc/registry.yml
ENTRYPOINT ["registry", "serve", "/etc/registry.yml"]
