import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { FieldsShown } from '../forms/fields-shown.tsx';
import {
  readFormContent,
  readFormFields,
  parseJson,
  type FormField,
} from '../forms/schema-fields.ts';
import { useStudio } from '../studio-parts.ts';
import type { ChatSession, InputMode } from './chat-session.ts';
import { Button, Select, TextArea } from '../../shell/controls.tsx';
import { Icon } from '../../shell/icon.tsx';
import { formatBytes } from '../byte-text.ts';
import { buildMessageContent } from './picked-files.ts';

const MODES: Record<InputMode, string> = { message: 'Message', form: 'Form', json: 'JSON' };

/** The way in: a message, a form by the schema of the graph's input, or JSON. */
export function Composer({ session }: { session: ChatSession }) {
  const { agent } = useStudio();
  const usual = useSignal<InputMode>('message');
  const { fields } = session;
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
  }, [assistant, agent, session]);
  useEffect(() => {
    // A new chat begins with words. On a touch screen the focus would bring up a keyboard over half of the page.
    if (session.thread.peek() !== undefined || matchMedia('(hover: none)').matches)
      return undefined;
    const frame = requestAnimationFrame(() =>
      document.querySelector<HTMLElement>('.composer [name=text]')?.focus(),
    );
    return () => cancelAnimationFrame(frame);
  }, [session]);
  const wanted = session.mode.value ?? usual.value;
  const mode = wanted === 'form' && fields.value === undefined ? 'message' : wanted;
  return (
    <div class="composer">
      <Choices
        session={session}
        mode={mode}
        hasForm={fields.value !== undefined}
        choose={(one) => (session.mode.value = one)}
      />
      {mode === 'form' && fields.value !== undefined ? (
        <FormInput key={assistant} session={session} fields={fields.value} />
      ) : (
        <TextInput session={session} isJson={mode === 'json'} />
      )}
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
  mode: InputMode;
  hasForm: boolean;
  choose: (mode: InputMode) => void;
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
      {mode === 'message' && <FileChooser session={session} />}
    </p>
  );
}

/** Opens the browser's own choice of files. They may also be dropped on the conversation, or pasted. */
function FileChooser({ session }: { session: ChatSession }) {
  const field = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={field}
        type="file"
        name="files"
        multiple
        hidden
        aria-label="Files for the message"
        onChange={({ currentTarget }) => {
          void session.addFiles([...(currentTarget.files ?? [])]);
          currentTarget.value = '';
        }}
      />
      <Button
        class="plain quiet"
        aria-label="Add files"
        title="Add pictures or files. You can also drop or paste them."
        label={<Icon name="clip" />}
        press={() => field.current?.click()}
      />
    </>
  );
}

/** The files that go with the next message. */
function PickedFiles({ session }: { session: ChatSession }) {
  const { value: files } = session.files;
  if (files.length === 0) return null;
  return (
    <ul class="picked" aria-label="Files of the message">
      {files.map((file, at) => (
        <li key={`${at} ${file.name}`}>
          {file.picture === undefined ? <Icon name="clip" /> : <img src={file.picture} alt="" />}
          <bdi>{file.name}</bdi> <span class="quiet">{formatBytes(file.bytes)}</span>
          <Button
            class="plain"
            aria-label={`Remove ${file.name}`}
            title="Remove"
            label={<Icon name="cross" />}
            press={() => (session.files.value = files.toSpliced(at, 1))}
          />
        </li>
      ))}
    </ul>
  );
}

function TextInput({ session, isJson }: { session: ChatSession; isJson: boolean }) {
  const { draft: text } = session;
  const fault = useSignal<string | undefined>(undefined);
  const send = async (event: Event): Promise<void> => {
    event.preventDefault();
    const { value: written } = text;
    const files = isJson ? [] : session.files.value;
    if ((written.trim() === '' && files.length === 0) || session.isBusy.value) return;
    const message = { type: 'human', content: buildMessageContent(written, files) };
    const read = isJson ? parseJson(written) : { value: { messages: [message] } };
    fault.value = 'fault' in read ? read.fault : undefined;
    if ('fault' in read) return;
    text.value = '';
    session.files.value = [];
    const isSent = await session.send(read.value, isJson ? undefined : message);
    if (isSent) return;
    if (text.value === '') text.value = written;
    session.files.value = [...files, ...session.files.value];
  };
  const paste = (event: ClipboardEvent): void => {
    const files = [...(event.clipboardData?.files ?? [])];
    if (files.length === 0 || isJson) return;
    event.preventDefault();
    void session.addFiles(files);
  };
  const press = (event: KeyboardEvent & { currentTarget: HTMLTextAreaElement }): void => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing || isJson) return;
    event.preventDefault();
    event.currentTarget.form?.requestSubmit();
  };
  return (
    <form class="say" onSubmit={(event) => void send(event)}>
      {!isJson && <PickedFiles session={session} />}
      <TextArea
        name="text"
        rows={isJson ? 6 : 2}
        placeholder={
          isJson ? '{ "messages": [ … ] }' : 'Message. Enter sends, Shift+Enter breaks the line.'
        }
        class={isJson ? 'mono' : ''}
        aria-label={isJson ? 'Input, as JSON' : 'Message'}
        of={text}
        onKeyDown={press}
        onPaste={paste}
      />
      {fault.value !== undefined && <p class="wrong">{fault.value}</p>}
      <SendButton session={session} />
    </form>
  );
}

/** Sends; as long as a run is under way, it stops that. */
function SendButton({ session }: { session: ChatSession }) {
  if (session.isBusy.value)
    return (
      <Button
        key="stop"
        class="go danger"
        label={
          <>
            <Icon name="stop" />
            Stop
          </>
        }
        press={() => session.stop()}
      />
    );
  return (
    <Button
      key="send"
      class="go main"
      label={
        <>
          <Icon name="send" />
          Send
        </>
      }
    />
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
      <SendButton session={session} />
    </form>
  );
}
