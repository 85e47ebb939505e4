# gx-postgres with the next major version of Postgres, which Debian's next release has. A test moves a database to it.
ARG POSTGRES=registry.invalid/gx/gx-postgres:latest
FROM ${POSTGRES}
USER root
# A copy of the archive may be older than the release says to trust it for.
RUN for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.sources; do \
      [ ! -e "$file" ] || sed -i -e 's/ trixie / forky /' -e 's/^Suites: trixie .*/Suites: forky/' "$file"; \
    done \
 && apt-get update -qq -o Acquire::Check-Valid-Until=false \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends -o Dpkg::Options::=--force-confold \
      postgresql-18 postgresql-18-pgvector \
 && apt-get clean && rm -rf /var/lib/apt/lists/* /var/cache/debconf/*-old /var/log/*.log /var/log/apt
ENV PATH=/usr/lib/postgresql/18/bin:/usr/local/bin:/usr/bin:/bin
USER 26:26
