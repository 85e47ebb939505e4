import { ago } from './fixed-platform.ts';

/* The answers of an agent to the studio that the pictures show. */

const thread = (number: number): string =>
  `0195a1b0-0000-7000-8000-${String(number).padStart(12, '0')}`;

/** The threads of the pictures, by their subject. */
export const THREADS = {
  lisbon: thread(1),
  mail: thread(2),
  failed: thread(3),
  receipt: thread(4),
  report: thread(5),
} as const;

const ASSISTANT = '7d1c2a50-63f0-5c2e-9f0b-2b8a7e11c001';
const RUN_ID = '0195a1b3-5b1e-7a44-8c21-6f0d3e9b7a10';

const human = (id: string, content: unknown) => ({ type: 'human', id, content });
const agent = (id: string, content: unknown, more: object = {}) => ({
  type: 'ai',
  id,
  content,
  ...more,
});
const call = (id: string, name: string, args: object) => ({ id, name, args });
const result = (id: string, content: string) => ({
  type: 'tool',
  id: `result-${id}`,
  tool_call_id: id,
  content,
});

const PLAN = `Here is a plan for **three days in Lisbon**. The weather stays dry, so the hills come first.

### Day by day

1. **Alfama and the castle**
   - tram \`28E\` early, before the queues
   - lunch at *Zé da Mouraria*
2. **Belém**: the tower, the monastery, and the pastries
3. ~~Sintra by bus~~ Sintra by train, it is faster

| | Morning | High | Rain |
|---|---|--:|--:|
| Fri | 14 °C | 21 °C | 5 % |
| Sat | 15 °C | 22 °C | 0 % |
| Sun | 13 °C | 19 °C | 10 % |

> Book the monastery before Friday.

\`\`\`python
from datetime import date
print((date(2026, 3, 13) - date.today()).days, "days to go")
\`\`\`

More at [visitlisboa.example](https://visitlisboa.example/plan).`;

const LISBON = [
  human('h1', 'Plan three days in Lisbon for two, starting next Friday. Keep it under 400 euros.'),
  agent('a1', [{ type: 'reasoning', reasoning: 'The weather decides the order. I look it up.' }], {
    tool_calls: [
      call('c1', 'get_forecast', { city: 'Lisbon', from: '2026-03-13', days: 3 }),
      call('c2', 'find_hotels', { city: 'Lisbon', nights: 3, most: 400 }),
    ],
    usage_metadata: { input_tokens: 412, output_tokens: 96 },
  }),
  result('c1', '{"fri": "21, dry", "sat": "22, dry", "sun": "19, a shower"}'),
  result('c2', '[{"name": "Casa do Miradouro", "price": 312}]'),
  agent('a2', PLAN, { usage_metadata: { input_tokens: 1208, output_tokens: 431 } }),
];

const MAIL = [
  human('h1', 'Tell Ann that the meeting moves to Thursday, and delete the old invitation.'),
  agent('a1', 'I have drafted the mail. Both steps need your approval.', {
    tool_calls: [
      call('m1', 'send_mail', { to: 'ann@example.com', subject: 'Meeting on Thursday' }),
      call('m2', 'delete_event', { id: 'evt-4711' }),
    ],
  }),
];
const DECISIONS = {
  action_requests: [
    {
      name: 'send_mail',
      args: {
        to: 'ann@example.com',
        subject: 'Meeting on Thursday',
        body: 'Hi Ann, the meeting moves to Thursday at 10. See you there!',
      },
      description: 'It sends a mail in your name.',
    },
    { name: 'delete_event', args: { id: 'evt-4711', title: 'Meeting on Wednesday' } },
  ],
  review_configs: [
    { action_name: 'send_mail', allowed_decisions: ['approve', 'edit', 'reject'] },
    { action_name: 'delete_event', allowed_decisions: ['approve', 'reject'] },
  ],
};

const FAILED = [human('h1', 'Refund order 5512.')];

/** A picture that is drawn as it is read: no file beside the tests. */
const RECEIPT = `data:image/svg+xml;base64,${Buffer.from(
  `<svg xmlns="http://www.w3.org/2000/svg" width="260" height="180" font-family="sans-serif" font-size="14"><rect width="260" height="180" fill="#fbf7ee"/><text x="20" y="36" font-size="18">Cafe Aurora</text><text x="20" y="70">2 x espresso</text><text x="200" y="70">5.00</text><text x="20" y="94">1 x cake</text><text x="200" y="94">4.20</text><path d="M20 112H240" stroke="#999"/><text x="20" y="140" font-weight="bold">Total</text><text x="200" y="140" font-weight="bold">9.20</text></svg>`,
).toString('base64')}`;
const RECEIPTS = [
  human('h1', [
    { type: 'text', text: 'What did we spend here? The policy is attached.' },
    { type: 'image_url', image_url: { url: RECEIPT } },
    {
      type: 'file',
      source_type: 'base64',
      mime_type: 'application/pdf',
      data: 'JVBERg==',
      metadata: { filename: 'travel-policy.pdf' },
    },
  ]),
  agent(
    'a1',
    'The receipt of **Cafe Aurora** comes to **9.20 euros**:\n\n- 2 x espresso, 5.00\n- 1 x cake, 4.20\n\nThe policy allows up to 15 euros a day, so all of it is refunded.',
    {
      usage_metadata: { input_tokens: 1840, output_tokens: 88 },
    },
  ),
];

const REPORT = [
  human('h1', 'Write a short report on heat pumps.'),
  agent('a1', 'The report is ready: heat pumps pay off after **6 to 9 years** in most homes.'),
];
const NESTED = [
  agent('n1', '', {
    name: 'researcher',
    tool_calls: [call('s1', 'search', { words: 'heat pump cost' })],
  }),
  result('s1', '12 pages'),
  agent('n2', 'Prices fell by 11 % since 2024. Grants differ by region.', { name: 'researcher' }),
];

type Kept = {
  title: string;
  status: string;
  minutes: number;
  messages: object[];
  next?: string[];
  interrupts?: object[];
  error?: object;
};
const KEPT: Record<string, Kept> = {
  [THREADS.mail]: {
    title: '',
    status: 'interrupted',
    minutes: 4,
    messages: MAIL,
    next: ['approve'],
    interrupts: [{ id: 'i1', value: DECISIONS }],
  },
  [THREADS.lisbon]: { title: '', status: 'idle', minutes: 12, messages: LISBON },
  [THREADS.failed]: {
    title: '',
    status: 'error',
    minutes: 45,
    messages: FAILED,
    next: ['pay'],
    error: {
      error: 'RangeError',
      message: 'The amount 0 is no amount.',
      stack:
        'RangeError: The amount 0 is no amount.\n    at pay (file:///agent/shop.ts:48:11)\n    at node "pay"',
    },
  },
  [THREADS.receipt]: {
    title: 'Receipt of the trip',
    status: 'idle',
    minutes: 180,
    messages: RECEIPTS,
  },
  [THREADS.report]: { title: '', status: 'idle', minutes: 60 * 26, messages: REPORT },
};

const fieldsOf = (messages: object[]) => ({
  messages,
  customer: { name: 'Ann Weber', tier: 'gold', since: 2021, tags: ['travel', 'newsletter'] },
  budget: { currency: 'EUR', limit: 400, spent: 312 },
  notes: ['likes trains', 'no early flights'],
});

/** The checkpoints of a thread, the newest first: one behind each of its messages that a step wrote. */
function historyOf(id: string, { messages, next = [] }: Kept) {
  const nodes = ['answer', 'tools', 'answer', 'answer'];
  const steps = [
    { count: 0, next: ['__start__'], source: 'input' },
    { count: 1, next: ['answer'], source: 'loop' },
    ...(id === THREADS.lisbon
      ? [
          { count: 2, next: ['tools'], source: 'loop' },
          { count: 4, next: ['answer'], source: 'loop' },
        ]
      : []),
    ...(messages.length > 1 ? [{ count: messages.length, next, source: 'loop' }] : []),
  ];
  return steps
    .map(({ count, next: following, source }, at) => ({
      checkpoint_id: `c${at}`,
      parent_checkpoint_id: at === 0 ? null : `c${at - 1}`,
      created_at: new Date(Date.parse(ago(12)) + [0, 20, 1840, 2610, 6900][at]!).toISOString(),
      metadata: { source, step: at - 1, run_id: RUN_ID },
      next: following,
      tasks:
        id === THREADS.report && at === 1 ? [{ id: 't1', name: nodes[0], interrupts: [] }] : [],
      interrupts: [],
      values: fieldsOf(messages.slice(0, count)),
    }))
    .toReversed();
}

const stateOf = (id: string, kept: Kept) => ({
  ...historyOf(id, kept)[0],
  values: fieldsOf(kept.messages),
  next: kept.next ?? [],
  interrupts: kept.interrupts ?? [],
});

const recordOf = (id: string, { title, status, minutes, messages, error }: Kept) => ({
  thread_id: id,
  status,
  created_at: ago(minutes + 3),
  updated_at: ago(minutes),
  metadata: { graph_id: 'agent', assistant_id: ASSISTANT, ...(title !== '' && { title }) },
  extracted: { first: (messages[0] as { content: unknown }).content },
  ...(error !== undefined && { error }),
});

const RUN = {
  run_id: RUN_ID,
  status: 'success',
  created_at: ago(12),
  updated_at: new Date(Date.parse(ago(12)) + 6900).toISOString(),
  assistant_id: ASSISTANT,
  attempt: 1,
  revision: 'shop-00004',
  usage: { input: 1620, output: 527, cost_usd: 0.0189 },
  webhook_status: null,
  kwargs: { config: { configurable: { model: 'gpt-5' } }, context: { tone: 'warm' } },
};

const GRAPH = {
  nodes: ['__start__', 'answer', 'tools', 'approve', 'pay', '__end__'].map((id) => ({ id })),
  edges: [
    { source: '__start__', target: 'answer' },
    { source: 'answer', target: 'tools', conditional: true },
    { source: 'tools', target: 'answer' },
    { source: 'answer', target: 'approve', conditional: true },
    { source: 'approve', target: 'pay' },
    { source: 'pay', target: '__end__' },
    { source: 'answer', target: '__end__', conditional: true },
  ],
};
const SCHEMA = {
  type: 'object',
  properties: {
    messages: { type: 'array' },
    customer: { type: 'object', title: 'Customer' },
    budget: { type: 'number', title: 'Budget' },
  },
};
const ASSISTANTS = [
  [ASSISTANT, 'agent', 'agent', 1],
  ['7d1c2a50-63f0-5c2e-9f0b-2b8a7e11c002', 'agent', 'Concierge', 4],
  ['7d1c2a50-63f0-5c2e-9f0b-2b8a7e11c003', 'agent', 'Night desk', 2],
].map(([id, graph, name, version]) => ({
  assistant_id: id,
  graph_id: graph,
  name,
  version,
  created_at: ago(60 * 24 * 20),
  updated_at: ago(60 * 5),
  config: {},
  context: { tone: 'warm' },
  metadata: {},
}));
const item = (namespace: string[], key: string, value: object) => ({
  namespace,
  key,
  value,
  created_at: ago(900),
  updated_at: ago(40),
});
const ITEMS = [
  item(['users', 'ann'], 'profile', { name: 'Ann Weber', likes: ['trains', 'tea'] }),
  item(['users', 'ann'], 'trips', { last: 'Porto', next: 'Lisbon' }),
  item(['users', 'ben'], 'profile', { name: 'Ben Ito' }),
];

type Asked = { method: string; path: string; body: Record<string, unknown>; group: string };

const used = (calls: number, cost: number | null, more: object = {}) => ({
  calls,
  failed: 0,
  cached: 0,
  unreported: 0,
  unpriced: cost === null ? calls : 0,
  input: calls * 2140,
  output: calls * 310,
  cost_usd: cost,
  ...more,
});
const USED: Record<string, object[]> = {
  day: [0, 1, 2, 5, 6, 7, 12].map((back) => ({
    day: ago(back * 24 * 60).slice(0, 10),
    ...used(400 + 90 * back, 12.4 + back),
  })),
  assistant: [
    { assistant: 'a1', ...used(3600, 88.1) },
    { assistant: 'gone', ...used(310, 4.2) },
  ],
  user: [
    { user: 'ann@example.com', ...used(2100, 61.3) },
    { user: 'ben@example.com', ...used(1500, 27.8) },
    { user: null, ...used(310, 3.2) },
  ],
  model: [
    { model: 'gpt-4.1', ...used(2600, 80.2) },
    { model: 'claude-sonnet-4-5', ...used(1200, 12.1) },
    { model: 'llama3.2', ...used(110, null, { unreported: 3, input: 900, output: 80 }) },
  ],
};

/** Returns the answer to a request of the studio; undefined where there is none. */
export function answerOfAgent({ method, path, body, group }: Asked): unknown {
  if (path === 'usage') return USED[group] ?? [];
  const lists: Record<string, unknown> = {
    'POST threads/search': Object.entries(KEPT)
      .map(([id, kept]) => recordOf(id, kept))
      .filter(({ status }) => body['status'] === undefined || body['status'] === status),
    'POST assistants/search': ASSISTANTS,
    [`GET assistants/${ASSISTANT}/graph`]: GRAPH,
    [`GET assistants/${ASSISTANT}/schemas`]: { input_schema: SCHEMA },
    [`POST assistants/${ASSISTANT}/versions`]: [],
    'POST store/namespaces': { namespaces: [['users']] },
    'POST store/items/search': { items: ITEMS },
    'POST runs/crons/search': [],
    'GET info': {},
  };
  const listed = lists[`${method} ${path}`];
  if (listed !== undefined) return listed;
  const [, id = '', rest = ''] = /^threads\/([^/]+)\/?(.*)$/.exec(path) ?? [];
  const kept = KEPT[id];
  if (kept === undefined) return undefined;
  const [, checkpoint] = /^state\/(c\d+)$/.exec(rest) ?? [];
  if (checkpoint !== undefined)
    return historyOf(id, kept).find((one) => one.checkpoint_id === checkpoint);
  const answers: Record<string, unknown> = {
    '': recordOf(id, kept),
    state: stateOf(id, kept),
    history: body['before'] === undefined ? historyOf(id, kept) : [],
    runs: [{ ...RUN, status: kept.status === 'error' ? 'error' : RUN.status }],
    [`runs/${RUN_ID}`]: RUN,
    [`runs/${RUN_ID}/feedback`]: [],
    'state/checkpoint': { ...stateOf(id, kept), values: { messages: NESTED } },
    storage: {
      checkpoints: { count: 5, bytes: 48_200 },
      pending_writes: { count: 9, bytes: 6100 },
      channel_values: { by_channel: { messages: { count: 4, bytes: 21_400 } } },
    },
  };
  return answers[rest];
}
