/** Returns the Secret of a cluster's owner, key by key as CloudNativePG 1.30 writes it. */
export function ownersSecret(cluster: string, namespace: string, password: string) {
  const [user, dbname, port] = ['app', 'app', 5432];
  const [host, fqdn] = [
    `${cluster}-rw.${namespace}`,
    `${cluster}-rw.${namespace}.svc.cluster.local`,
  ];
  const address = (at: string): string =>
    `postgresql://${user}:${password}@${at}:${port}/${dbname}`;
  const jdbc = (at: string): string =>
    `jdbc:postgresql://${at}:${port}/${dbname}?password=${password}&user=${user}`;
  const labels = {
    'app.kubernetes.io/managed-by': 'cloudnative-pg',
    'cnpg.io/reload': 'true',
    'cnpg.io/userType': 'app',
  };
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'kubernetes.io/basic-auth',
    metadata: { name: `${cluster}-app`, namespace, labels },
    stringData: {
      username: user,
      user,
      password,
      dbname,
      host: `${cluster}-rw`,
      port: String(port),
      pgpass: `${cluster}-rw:${port}:${dbname}:${user}:${password}\n`,
      uri: address(host),
      'jdbc-uri': jdbc(host),
      'fqdn-uri': address(fqdn),
      'fqdn-jdbc-uri': jdbc(fqdn),
    },
  };
}
