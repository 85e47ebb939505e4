/**
 * Returns true if an address names several servers. libpq tries them in turn; the clients of an agent server, in
 * JavaScript and in Python, would each do something else.
 */
export function hasSeveralHosts(address: string): boolean {
  const [, authority = ''] = /^postgres(?:ql)?:\/\/([^/?#]*)/.exec(address.trim()) ?? [];
  return (
    authority.slice(authority.lastIndexOf('@') + 1).includes(',') ||
    /[?&](host|hostaddr|port)=[^&]*(,|%2C)/i.test(address)
  );
}

/** The fault of an address of several servers, and its cure: words behind the name of the setting. */
export const SEVERAL_HOSTS =
  'names several hosts: give one that always leads to the server that takes writes, such as a Service, a balancer or a pooler';
