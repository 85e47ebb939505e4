import type { Namespace, Pod, Policy, World } from '../../dev/cluster/native/policies/world.ts';

/*
 * How a case of the table says who reaches whom. Everybody reaches everybody, unless a line of the case says otherwise:
 * `- world > x/*`, `+ x/b > x/a tcp/80`, `+ x/a > world ipv4`. The last line that speaks of a question answers it. A
 * star stands for any part of a name, and on the left for everybody but the node, which reaches all.
 */

export type Case = {
  situation: string;
  policies: Policy[];
  expected: string[];
  /** The ports that are asked, in both families of addresses. */
  ports?: string[];
  /** Labels of pods and namespaces other than the usual ones. */
  labels?: Record<string, Record<string, string>>;
};

const PORTS = ['tcp/80', 'tcp/81', 'udp/80'];
export const portsOf = ({ ports = PORTS }: Case): string[] => ports;

export type Question = { from: string; to: string; port: string; family: 'ipv4' | 'ipv6' };

/** Returns whether the case lets this question through. */
export function isExpected({ expected }: Pick<Case, 'expected'>, question: Question): boolean {
  const line = expected.map(parsed).findLast((one) => speaksOf(one, question));
  return line === undefined || line.sign === '+';
}

type Line = { sign: string; from: string; to: string; ports: string[]; families: string[] };

function parsed(line: string): Line {
  const [, sign, from, to, words = ''] = /^([+-]) (\S+) > (\S+)(?: (.+))?$/.exec(line) ?? [];
  if (sign === undefined || from === undefined || to === undefined)
    throw new Error(`No line of a case: ${line}`);
  const isFamily = (word: string): boolean => word.startsWith('ip');
  const all = words.split(' ').filter(Boolean);
  return {
    sign,
    from,
    to,
    ports: all.filter((word) => !isFamily(word)),
    families: all.filter(isFamily),
  };
}

const speaksOf = (line: Line, { from, to, port, family }: Question): boolean =>
  (from === 'node' ? line.from === 'node' : isLike(line.from, from)) &&
  isLike(line.to, to) &&
  (line.ports.length === 0 || line.ports.includes(port)) &&
  (line.families.length === 0 || line.families.includes(family));

const isLike = (pattern: string, name: string): boolean =>
  new RegExp(`^${pattern.replaceAll('*', '.*')}$`).test(name);

/** Returns the world of a case: the usual pods and namespaces with its labels and policies. */
export function worldOf(
  { policies, labels = {} }: Case,
  usual: Pick<World, 'namespaces' | 'pods'>,
): World {
  const relabelled = <T extends Namespace | Pod>(one: T, name: string): T => ({
    ...one,
    labels: labels[name] ?? one.labels,
  });
  return {
    namespaces: usual.namespaces.map((one) => relabelled(one, one.name)),
    pods: usual.pods.map((one) => relabelled(one, `${one.namespace}/${one.name}`)),
    policies,
  };
}
