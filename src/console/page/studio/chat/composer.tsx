import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { FieldsShown } from '../forms/fields-shown.tsx';
import {
  readFormContent,
  readFormFields,
  parseJson,
  type FormField,
} from '../forms/schema-fields.ts';
import { useStudio } from '../studio-parts.ts';
import type { ChatSession } from './chat-session.ts';
import { Button, Select, TextArea } from '../../shell/controls.tsx';

const MODES = { message: 'Message', form: 'Form', json: 'JSON' } as const;
type Mode = keyof typeof MODES;

/** The way in: a message, a form by the schema of the graph's input, or JSON. */
export function Composer({ session }: { session: ChatSession }) {
  const { agent } = useStudio();
  const usual = useSignal<Mode>('message');
  const chosen = useSignal<Mode | undefined>(undefined);
  const fields = useSignal<FormField[] | undefined>(undefined);
  const { value: assistant } = session.assistant;
  useEffect(() => {
    const leaving = new AbortController();
    const read = async (): Promise<void> => {
      // Without a schema, messages and JSON are left.
      const schema = await agent.fetchInputSchema(assistant, leaving.signal).catch(() => undefined);
      if (leaving.signal.aborted) return;
      fields.value = readFormFields(schema);
      const takesMessages =
        fields.value === undefined || fields.value.some(({ name }) => name === 'messages');
      usual.value = takesMessages ? 'message' : 'form';
    };
    if (assistant !== '') void read();
    return () => leaving.abort();
  }, [assistant, agent]);
  const wanted = chosen.value ?? usual.value;
  const mode = wanted === 'form' && fields.value === undefined ? 'message' : wanted;
  return (
    <div class="composer">
      <Choices
        session={session}
        mode={mode}
        hasForm={fields.value !== undefined}
        choose={(one) => (chosen.value = one)}
      />
      {mode === 'form' && fields.value !== undefined ? (
        <FormInput key={assistant} session={session} fields={fields.value} />
      ) : (
        <TextInput session={session} isJson={mode === 'json'} />
      )}
      {session.isBusy.value && <Button class="danger" label="Stop" press={() => session.stop()} />}
    </div>
  );
}

function Choices({
  session,
  mode,
  hasForm,
  choose,
}: {
  session: ChatSession;
  mode: Mode;
  hasForm: boolean;
  choose: (mode: Mode) => void;
}) {
  const modes = Object.entries(MODES).filter(([name]) => name !== 'form' || hasForm);
  return (
    <p class="choices">
      <Select
        label="Assistant"
        name="assistant"
        value={session.assistant.value}
        options={session.assistants.value.map(({ id, name }) => [id, name] as const)}
        choose={(id) => (session.assistant.value = id)}
      />{' '}
      <Select
        label="Input"
        name="mode"
        value={mode}
        options={modes}
        choose={(name) => choose(name === 'form' || name === 'json' ? name : 'message')}
      />
    </p>
  );
}

function TextInput({ session, isJson }: { session: ChatSession; isJson: boolean }) {
  const text = useSignal('');
  const fault = useSignal<string | undefined>(undefined);
  const send = async (event: Event): Promise<void> => {
    event.preventDefault();
    const { value: written } = text;
    if (written.trim() === '' || session.isBusy.value) return;
    const read = isJson
      ? parseJson(written)
      : { value: { messages: [{ type: 'human', content: written }] } };
    fault.value = 'fault' in read ? read.fault : undefined;
    if ('fault' in read) return;
    text.value = '';
    const isSent = await session.send(
      read.value,
      isJson ? undefined : { type: 'human', content: written },
    );
    if (!isSent && text.value === '') text.value = written;
  };
  const press = (event: KeyboardEvent & { currentTarget: HTMLTextAreaElement }): void => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing || isJson) return;
    event.preventDefault();
    event.currentTarget.form?.requestSubmit();
  };
  return (
    <form class="say" onSubmit={(event) => void send(event)}>
      <TextArea
        name="text"
        rows={isJson ? 6 : 2}
        class={isJson ? 'mono' : ''}
        aria-label={isJson ? 'Input, as JSON' : 'Message'}
        of={text}
        onKeyDown={press}
      />
      {fault.value !== undefined && <p class="wrong">{fault.value}</p>}
      <Button class="main" disabled={session.isBusy.value} label="Send" />
    </form>
  );
}

function FormInput({ session, fields }: { session: ChatSession; fields: readonly FormField[] }) {
  const texts = useSignal<Record<string, string>>({});
  const faults = useSignal<Record<string, string>>({});
  const send = (event: Event): void => {
    event.preventDefault();
    const content = readFormContent(fields, texts.value);
    faults.value = 'faults' in content ? content.faults : {};
    if ('value' in content && !session.isBusy.value) void session.send(content.value, undefined);
  };
  return (
    <form class="say" onSubmit={send}>
      <FieldsShown
        fields={fields}
        texts={texts.value}
        faults={faults.value}
        change={(changed) => (texts.value = changed)}
      />
      <Button class="main" disabled={session.isBusy.value} label="Send" />
    </form>
  );
}
