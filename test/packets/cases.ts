import type {
  Labels,
  LabelSelector,
  Peer,
  Policy,
  PolicySpec,
} from '../../dev/cluster/native/policies/world.ts';
import type { Case } from './table.ts';

/*
 * What NetworkPolicies mean, by cases. The pods are x/a, x/b, y/a, y/b and z/a, labelled pod=a or pod=b. Their
 * namespaces are labelled team=red, blue and green. Port 80 of TCP is called `web` by all but y/b, which calls 81 so.
 */

const policy = (namespace: string, spec: PolicySpec): Policy => ({
  name: 'policy',
  namespace,
  spec,
});
const labelled = (matchLabels: Labels): LabelSelector => ({ matchLabels });
const where = (
  key: string,
  operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist',
  values?: string[],
): LabelSelector => ({
  matchExpressions: [{ key, operator, ...(values && { values }) }],
});
const A = labelled({ pod: 'a' });
const B = labelled({ pod: 'b' });
const ALL: LabelSelector = {};
const block = (cidr: string, ...except: string[]): Peer => ({
  ipBlock: { cidr, ...(except.length > 0 && { except }) },
});
const EVERYWHERE = ['0.0.0.0/0', '::/0'];
const tcp = (port: number | string, endPort?: number) => ({
  protocol: 'TCP',
  port,
  ...(endPort !== undefined && { endPort }),
});
const udp = (port: number) => ({ protocol: 'UDP', port });
const ingress = (...rules: NonNullable<PolicySpec['ingress']>): PolicySpec => ({
  podSelector: ALL,
  policyTypes: ['Ingress'],
  ingress: rules,
});
const egress = (...rules: NonNullable<PolicySpec['egress']>): PolicySpec => ({
  podSelector: ALL,
  policyTypes: ['Egress'],
  egress: rules,
});
const of = (podSelector: LabelSelector, spec: PolicySpec): PolicySpec => ({ ...spec, podSelector });

const NOTHING: Case[] = [
  { situation: 'no policy: everybody reaches everybody', policies: [], expected: [] },
  {
    situation: 'a policy that selects no pod changes nothing',
    policies: [policy('x', of(labelled({ pod: 'none' }), ingress())), policy('z', of(B, egress()))],
    expected: [],
  },
  {
    situation:
      'a policy for incoming traffic without rules closes the pods of its namespace, from outside and from each other',
    policies: [policy('x', ingress())],
    expected: ['- * > x/*'],
  },
  {
    situation:
      'a policy for outgoing traffic without rules lets the pods of its namespace reach nobody, the node included',
    policies: [policy('x', egress())],
    expected: ['- x/* > *'],
  },
  {
    situation: 'both directions without rules: nothing in, nothing out, but from the node',
    policies: [policy('x', { podSelector: ALL, policyTypes: ['Ingress', 'Egress'] })],
    expected: ['- x/* > *', '- * > x/*'],
  },
  {
    situation: 'a policy selects one pod: the others of its namespace stay open',
    policies: [policy('x', of(A, ingress()))],
    expected: ['- * > x/a'],
  },
];

const TYPES: Case[] = [
  {
    situation:
      'without policyTypes and without rules for outgoing traffic, it is about incoming traffic alone',
    policies: [policy('x', { podSelector: A })],
    expected: ['- * > x/a'],
  },
  {
    situation: 'without policyTypes and with rules for outgoing traffic, it is about both',
    policies: [policy('x', { podSelector: A, egress: [{ to: [{ podSelector: B }] }] })],
    expected: ['- x/a > *', '+ x/a > x/b', '- * > x/a'],
  },
  {
    situation: 'rules for a direction that policyTypes leaves out are without effect',
    policies: [
      policy('x', { podSelector: A, policyTypes: ['Ingress'], ingress: [{}], egress: [] }),
    ],
    expected: [],
  },
  {
    situation: 'an empty rule admits everything that comes',
    policies: [policy('x', ingress({}))],
    expected: [],
  },
  {
    situation: 'an empty rule admits everything that goes',
    policies: [policy('x', egress({}))],
    expected: [],
  },
  {
    situation: 'an empty list of peers is everybody',
    policies: [policy('x', ingress({ from: [], ports: [tcp(80)] }))],
    expected: ['- * > x/*', '+ * > x/* tcp/80'],
  },
];

const PODS: Case[] = [
  {
    situation:
      'a pod selector alone finds pods of the namespace of its policy, and none of the same labels elsewhere',
    policies: [policy('x', of(A, ingress({ from: [{ podSelector: B }] })))],
    expected: ['- * > x/a', '+ x/b > x/a'],
  },
  {
    situation: 'an empty pod selector is the whole namespace of the policy',
    policies: [policy('x', ingress({ from: [{ podSelector: ALL }] }))],
    expected: ['- * > x/*', '+ x/* > x/*'],
  },
  {
    situation: 'a selector of namespaces is all pods there, and not those of its own',
    policies: [policy('x', ingress({ from: [{ namespaceSelector: labelled({ team: 'blue' }) }] }))],
    expected: ['- * > x/*', '+ y/* > x/*'],
  },
  {
    situation: 'an empty selector of namespaces is every pod, and nobody outside',
    policies: [policy('x', ingress({ from: [{ namespaceSelector: ALL }] }))],
    expected: ['- world > x/*'],
  },
  {
    situation: 'both selectors in one peer: pods of these labels in those namespaces',
    policies: [
      policy(
        'x',
        ingress({ from: [{ namespaceSelector: labelled({ team: 'blue' }), podSelector: B }] }),
      ),
    ],
    expected: ['- * > x/*', '+ y/b > x/*'],
  },
  {
    situation:
      'both selectors as two peers: pods of these labels here, and all of those namespaces',
    policies: [
      policy(
        'x',
        ingress({ from: [{ namespaceSelector: labelled({ team: 'blue' }) }, { podSelector: B }] }),
      ),
    ],
    expected: ['- * > x/*', '+ y/* > x/*', '+ x/b > x/a'],
  },
  {
    situation: 'In: any of the values',
    policies: [
      policy(
        'x',
        ingress({ from: [{ namespaceSelector: where('team', 'In', ['blue', 'green']) }] }),
      ),
    ],
    expected: ['- * > x/*', '+ y/* > x/*', '+ z/* > x/*'],
  },
  {
    situation: 'NotIn: also those without the label',
    policies: [
      policy(
        'x',
        ingress({ from: [{ namespaceSelector: where('team', 'NotIn', ['red', 'blue']) }] }),
      ),
    ],
    labels: { z: { other: 'label' } },
    expected: ['- * > x/*', '+ z/* > x/*'],
  },
  {
    situation: 'Exists: whatever the value',
    policies: [
      policy(
        'x',
        ingress({ from: [{ namespaceSelector: ALL, podSelector: where('door', 'Exists') }] }),
      ),
    ],
    labels: { 'y/a': { door: '' } },
    expected: ['- * > x/*', '+ y/a > x/*'],
  },
  {
    situation: 'DoesNotExist: those without the label',
    policies: [
      policy(
        'x',
        ingress({ from: [{ namespaceSelector: ALL, podSelector: where('door', 'DoesNotExist') }] }),
      ),
    ],
    labels: { 'y/a': { door: '' } },
    expected: ['- y/a > x/*', '- world > x/*'],
  },
  {
    situation: 'labels and expressions of one selector must all hold',
    policies: [
      policy(
        'x',
        ingress({
          from: [
            { namespaceSelector: { ...labelled({ team: 'blue' }), ...where('zone', 'Exists') } },
          ],
        }),
      ),
    ],
    labels: { z: { team: 'green', zone: '1' } },
    expected: ['- * > x/*'],
  },
];

const PORTS: Case[] = [
  {
    situation: 'a port of TCP, and not the same of UDP',
    policies: [policy('x', ingress({ ports: [tcp(80)] }))],
    expected: ['- * > x/*', '+ * > x/* tcp/80'],
  },
  {
    situation: 'a port without a protocol is one of TCP',
    policies: [policy('x', ingress({ ports: [{ port: 81 }] }))],
    expected: ['- * > x/*', '+ * > x/* tcp/81'],
  },
  {
    situation: 'a protocol without a port is all its ports',
    policies: [policy('x', ingress({ ports: [{ protocol: 'UDP' }] }))],
    expected: ['- * > x/*', '+ * > x/* udp/80'],
  },
  {
    situation: 'a range has both its ends, and what is above and below stays closed',
    policies: [policy('x', ingress({ ports: [tcp(81, 82)] }))],
    ports: ['tcp/80', 'tcp/81', 'tcp/82', 'tcp/83', 'udp/81'],
    expected: ['- * > x/*', '+ * > x/* tcp/81 tcp/82'],
  },
  {
    situation: 'a named port is what the pod that is reached calls so',
    policies: [policy('y', ingress({ ports: [tcp('web')] }))],
    expected: ['- * > y/*', '+ * > y/a tcp/80', '+ * > y/b tcp/81'],
  },
  {
    situation: 'a name that no port has opens nothing',
    policies: [policy('y', ingress({ ports: [tcp('metrics')] }))],
    expected: ['- * > y/*'],
  },
  {
    situation: 'what goes out to a named port follows the name of each pod that it reaches',
    policies: [
      policy(
        'x',
        egress({ to: [{ namespaceSelector: labelled({ team: 'blue' }) }], ports: [tcp('web')] }),
      ),
    ],
    expected: ['- x/* > *', '+ x/* > y/a tcp/80', '+ x/* > y/b tcp/81'],
  },
  {
    situation: 'peers and ports of one rule belong together, those of two rules do not mix',
    policies: [
      policy(
        'x',
        ingress(
          { from: [{ podSelector: ALL }], ports: [tcp(80)] },
          { from: [{ namespaceSelector: ALL }], ports: [tcp(81)] },
        ),
      ),
    ],
    expected: ['- * > x/*', '+ x/* > x/* tcp/80', '+ */* > x/* tcp/81'],
  },
];

const BLOCKS: Case[] = [
  {
    situation: 'an address block admits those in it, of its own family alone',
    policies: [policy('x', ingress({ from: [block('192.0.2.0/24')] }))],
    expected: ['- * > x/*', '+ world > x/* ipv4'],
  },
  {
    situation: 'a block of IPv6 admits those of IPv6',
    policies: [policy('x', ingress({ from: [block('2001:db8::/32')] }))],
    expected: ['- * > x/*', '+ world > x/* ipv6'],
  },
  {
    situation: 'exceptions of a block stay closed, several of them, in both families',
    policies: [
      policy(
        'x',
        egress({
          to: [
            block('0.0.0.0/0', '192.0.2.0/24', '169.254.0.0/16'),
            block('::/0', 'fd00:ec2::/32'),
          ],
        }),
      ),
    ],
    expected: ['- x/* > metadata', '- x/* > world ipv4'],
  },
  {
    situation: 'exceptions that overlap are no error',
    policies: [
      policy(
        'x',
        egress({
          to: [
            block('0.0.0.0/0', '169.254.0.0/16', '169.254.169.254/32', '192.0.2.10/32'),
            block('::/0'),
          ],
        }),
      ),
    ],
    expected: ['- x/* > metadata ipv4', '- x/* > world ipv4'],
  },
  {
    situation: 'an exception of one peer does not close what another peer admits',
    policies: [
      policy(
        'x',
        egress({
          to: [...EVERYWHERE.map((cidr) => block(cidr)), block('0.0.0.0/0', '192.0.2.0/24')],
        }),
      ),
    ],
    expected: [],
  },
  {
    situation: 'a block with a port',
    policies: [policy('x', egress({ to: [block('192.0.2.10/32')], ports: [tcp(80)] }))],
    expected: ['- x/* > *', '+ x/* > world tcp/80 ipv4'],
  },
];

const TOGETHER: Case[] = [
  {
    situation: 'policies add up: what one of them admits is admitted',
    policies: [
      policy('x', ingress()),
      policy('x', of(A, ingress({ from: [{ podSelector: B }] }))),
      policy('x', ingress({ ports: [udp(80)] })),
    ],
    expected: ['- * > x/*', '+ x/b > x/a', '+ * > x/* udp/80'],
  },
  {
    situation: 'both ends must agree: one sends to all, the other takes from none',
    policies: [policy('x', egress({})), policy('y', ingress())],
    expected: ['- * > y/*'],
  },
  {
    situation: 'both ends must agree: one takes from all, the other sends to none of its own',
    policies: [
      policy('x', ingress({})),
      policy('y', of(A, egress({ to: [{ podSelector: ALL }] }))),
    ],
    expected: ['- y/a > *', '+ y/a > y/b'],
  },
  {
    situation: 'answers pass where only the question is admitted',
    policies: [
      policy('x', of(A, egress({ to: [{ podSelector: B }] }))),
      policy('x', of(B, ingress({ from: [{ podSelector: A }] }))),
      policy('x', of(B, egress())),
    ],
    expected: ['- x/a > *', '- * > x/b', '+ x/a > x/b', '- x/b > *'],
  },
  {
    situation: 'names are resolved, and the rest is closed: DNS alone may be asked, wherever it is',
    policies: [policy('x', egress({ ports: [udp(53), tcp(53)] }))],
    ports: ['udp/53', 'tcp/53', 'tcp/80'],
    expected: ['- x/* > *', '+ x/* > * udp/53 tcp/53'],
  },
];

export const CASES: Case[] = [...NOTHING, ...TYPES, ...PODS, ...PORTS, ...BLOCKS, ...TOGETHER];
