import { signal } from '@preact/signals';
import { render, type ComponentChildren } from 'preact';
import { StatePill } from '../deployments/state-shown.tsx';
import {
  Button,
  EmptyState,
  Fault,
  FoldedText,
  Select,
  Skeleton,
  TextArea,
  TextLine,
} from '../shell/controls.tsx';
import { CopyButton } from '../shell/copy-button.tsx';
import { Dialog } from '../shell/dialog.tsx';
import { Icon } from '../shell/icon.tsx';
import { ICON_PATHS, type IconName } from '../shell/icons.ts';
import { PageProvider } from '../shell/page-parts.ts';
import { createPreferences } from '../shell/preferences.ts';
import { Table } from '../shell/table.tsx';
import { MessageShown } from '../studio/conversation.tsx';
import { RunCard } from '../studio/chat/run-cards.tsx';

/*
 * All parts of console and studio on one page. No release has it: a test draws it, and compares the picture with the
 * one that the repository has, so that a change of a part is seen in all its forms.
 */

const noop = (): void => undefined;
const COLOURS = [
  'canvas',
  'surface',
  'raised',
  'sunken',
  'hover',
  'line',
  'line-strong',
  'ink',
  'quiet',
  'accent',
  'accent-soft',
  'good',
  'good-soft',
  'bad',
  'bad-soft',
  'busy',
  'busy-soft',
  'rest',
  'rest-soft',
];
const LONG =
  'Failed to pull image "registry.example/team/shop:9": rpc error: code = NotFound desc = failed to pull and unpack image: registry.example/team/shop:9: not found';

const Group = ({ name, children }: { name: string; children: ComponentChildren }) => (
  <section class="part">
    <h2>{name}</h2>
    {children}
  </section>
);

const Buttons = () => (
  <Group name="Buttons">
    <p class="actions">
      <Button class="main" label="Main" press={noop} />
      <Button label="Usual" press={noop} />
      <Button class="danger" label="Danger" press={noop} />
      <Button class="plain" label="Plain" press={noop} />
      <Button disabled label="Off" press={noop} />
      <Button class="plain" aria-pressed="true" label="Pressed" press={noop} />
      <CopyButton text="a" label="Copy" />
      <a class="button" href="#a">
        <Icon name="plus" /> A link
      </a>
    </p>
  </Group>
);

const Fields = () => (
  <Group name="Fields">
    <form class="fields">
      <label>
        A line of text
        <TextLine of={signal('a text')} placeholder="An example" />
      </label>
      <label>
        A number
        <TextLine type="number" of={signal('900')} />
      </label>
      <label>
        Several lines
        <TextArea rows={2} of={signal('one\ntwo')} />
        <span class="wrong">It has to be one line.</span>
      </label>
      <Select label="A choice" value="b" options={['a', 'b']} choose={noop} />
      <label class="check">
        <input type="checkbox" checked /> A switch
      </label>
    </form>
  </Group>
);

const Tables = () => (
  <Group name="Tables">
    <Table
      heads={['Name', 'State', 'Message']}
      names="mono"
      sentences="Message"
      rows={[
        { key: 1, cells: ['shop-1', 'serving', 'It answers requests.'] },
        { key: 2, cells: ['shop-2', 'failed', <FoldedText text={LONG} />] },
      ]}
    />
    <Table class="differences" heads={['Field', 'Before', 'Now']}>
      <tr>
        <th scope="row" class="mono">
          cpu
        </th>
        <td class="mono removed">1</td>
        <td class="mono added">2</td>
      </tr>
    </Table>
  </Group>
);

const Notices = () => (
  <Group name="Notices">
    <Fault text="The control plane does not answer. Try again in a moment." />
    <p class="note">Argo CD keeps this deployment. It may take back a change.</p>
    <div class="trouble">
      <Icon name="alert" />
      <div>
        <p>
          <strong>CrashLooping</strong> · A container can't start.
        </p>
        <FoldedText text={LONG} />
      </div>
    </div>
    <p>
      <StatePill look="serving" icon="check" word="Serving" />{' '}
      <StatePill look="failed" icon="cross" word="Failed" />{' '}
      <StatePill look="rolling_out" icon="turn" word="Rolling out" />{' '}
      <StatePill look="asleep" icon="moon" word="Asleep" />
    </p>
  </Group>
);

const MESSAGE = {
  key: 'a',
  id: 'a',
  at: 0,
  speaker: 'agent',
  who: 'Agent',
  text: '**Two** things:\n\n- a list\n- and `code`\n\n> a quote',
  reasoning: 'The reasons.',
  files: [{ kind: 'bytes', name: 'policy.pdf', url: 'data:application/pdf;base64,JVBERg==' }],
  calls: [
    { id: 'c', name: 'get_forecast', input: '{}', result: 'dry', failed: false },
    { id: 'd', name: 'pay', input: '{}', result: 'no', failed: true },
    { id: 'e', name: 'wait', input: '{}', result: undefined, failed: false },
  ],
} as const;
const TURN = {
  run: 'r',
  behind: 1,
  status: 'success',
  milliseconds: 6900,
  usage: '1,620 in, 527 out, $0.02',
  unreported: '',
  calls: [],
  steps: [{ nodes: ['answer'], milliseconds: 1800, from: 0, to: 1 }],
};

const Cards = () => (
  <Group name="Messages and cards">
    <ol class="messages">
      <li class="human">
        <MessageShown
          message={{
            ...MESSAGE,
            speaker: 'human',
            text: 'A question',
            reasoning: '',
            files: [],
            calls: [],
          }}
        />
      </li>
      <li class="agent">
        <MessageShown
          message={{ ...MESSAGE, files: [...MESSAGE.files], calls: [...MESSAGE.calls] }}
          took="770 ms"
        />
        <RunCard turn={TURN} />
      </li>
    </ol>
  </Group>
);

const Rest = () => (
  <>
    <Group name="Empty states">
      <EmptyState icon="answer" title="No threads yet.">
        <p>The first message makes one.</p>
      </EmptyState>
    </Group>
    <Group name="Skeletons">
      <Skeleton lines={3} />
      <Skeleton lines={3} of="page" />
    </Group>
    <Group name="Signs">
      <p class="actions">
        {(Object.keys(ICON_PATHS) as IconName[]).map((name) => (
          <Icon key={name} name={name} />
        ))}
      </p>
    </Group>
    <Group name="Colours">
      <div class="swatches">
        {COLOURS.map((name) => (
          <span key={name} style={{ background: `var(--${name})` }} title={name} />
        ))}
      </div>
    </Group>
  </>
);

const isAsked = signal(false);

function PartsPage() {
  return (
    <main class="parts-page">
      <h1>Parts</h1>
      <Buttons />
      <Fields />
      <Tables />
      <Notices />
      <Cards />
      <Rest />
      <Button label="Open the dialog" press={() => (isAsked.value = true)} />
      {isAsked.value && (
        <Dialog title="Delete shop" close={() => (isAsked.value = false)}>
          <p>Its pods, keys and revisions go.</p>
          <div class="actions">
            <Button class="danger" label="Delete" press={noop} />
            <Button label="Cancel" press={() => (isAsked.value = false)} />
          </div>
        </Dialog>
      )}
    </main>
  );
}

const parts = { preferences: createPreferences(), now: signal(Date.now()), announce: noop };

render(
  <PageProvider value={parts}>
    <PartsPage />
  </PageProvider>,
  document.querySelector('#page') as HTMLElement,
);
