import { createRoot } from 'react-dom/client';
import { useChannel, useChannelEffect, useExtension, useStream } from '@langchain/react';

/*
 * A chat as an application has it: what is said appears letter by letter, a question has a button, and the address
 * remembers the thread. What the page is told of is kept in `window.told`, for the tests.
 */

const address = new URL(location.href);
const apiUrl = address.searchParams.get('api');
const transport = address.searchParams.get('transport') ?? 'sse';
const channels = [
  'values',
  'lifecycle',
  'input',
  'messages',
  'tools',
  'custom',
  'updates',
  'tasks',
  'checkpoints',
];

window.told = [];

function remember(threadId) {
  address.searchParams.set('thread', threadId);
  history.replaceState(undefined, '', address);
}

function Chat({ threadId, input, onThreadId }) {
  const stream = useStream({ apiUrl, assistantId: 'chat', transport, threadId, onThreadId });
  return (
    <section data-loading={stream.isLoading} data-error={stream.error ? String(stream.error) : ''}>
      <ol>
        {stream.messages.map((message, at) => (
          <li key={message.id ?? at} className={message.type}>
            {message.text}
          </li>
        ))}
      </ol>
      {stream.interrupt && (
        <p className="question">
          {stream.interrupt.value.question}{' '}
          <button onClick={() => stream.respond('yes')}>Yes</button>
        </p>
      )}
      <button
        className="send"
        onClick={() => stream.submit({ messages: [{ type: 'human', content: 'hello' }], ...input })}
      >
        Send
      </button>
      {address.searchParams.has('record') && <Record stream={stream} />}
      {address.searchParams.has('channels') &&
        channels.slice(0, 7).map((name) => <Channel key={name} stream={stream} name={name} />)}
      {address.searchParams.has('channels') && <Progress stream={stream} />}
    </section>
  );
}

function Record({ stream }) {
  const onEvent = ({ seq, event_id: id, method }) => window.told.push({ seq, id, method });
  useChannelEffect(stream, channels, { replay: true, onEvent });
  return undefined;
}

function Channel({ stream, name }) {
  const events = useChannel(stream, [name]);
  return (
    <p className="channel" data-name={name}>
      {events.length}
    </p>
  );
}

function Progress({ stream }) {
  const progress = useExtension(stream, 'progress');
  return (
    <p className="channel" data-name="progress">
      {progress?.step}
    </p>
  );
}

const input = JSON.parse(address.searchParams.get('input'));
const chats = Number(address.searchParams.get('chats') ?? 1);
createRoot(document.querySelector('main')).render(
  Array.from({ length: chats }, (_, at) => (
    <Chat
      key={at}
      input={input}
      threadId={address.searchParams.get('thread')}
      onThreadId={chats === 1 ? remember : undefined}
    />
  )),
);
