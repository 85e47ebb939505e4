# Takes settings as GITEA__<section>__<name>, as Gitea's own image does.
FROM localhost/gx-kind-base
RUN apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends git ca-certificates \
 && apt-get clean && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home --uid 1000 git && install -d -o git -g git /var/lib/gitea /var/lib/gitea/custom /var/lib/gitea/custom/conf
COPY gitea-part/ /opt/gitea/
COPY gitea-start /usr/local/bin/
RUN ln -s /opt/gitea/gitea /usr/local/bin/gitea
ENV GITEA_WORK_DIR=/var/lib/gitea
USER git
ENTRYPOINT ["/usr/local/bin/gitea-start"]
