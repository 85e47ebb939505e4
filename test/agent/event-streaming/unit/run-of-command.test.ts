import { describe, expect, it } from 'vitest';
import { buildAgentTree } from '../../../../src/agent/event-streaming/agent-tree.ts';
import { buildEventName } from '../../../../src/agent/stream/event-name.ts';
import {
  buildRespondingRun,
  buildStartedRun,
} from '../../../../src/agent/event-streaming/run-of-command.ts';

const start = { assistant_id: 'agent', input: { messages: [] } };

describe('run.start', () => {
  it('makes a run on a thread that need not be there', () => {
    expect(buildStartedRun(start, [])).toMatchObject({
      ...start,
      if_not_exists: 'create',
      stream_resumable: true,
      multitask_strategy: 'enqueue',
    });
  });

  it('answers what the thread waits for, unless it forks or brings no input', () => {
    expect(buildStartedRun(start, ['i'])).toMatchObject({
      input: null,
      command: { resume: start.input },
    });
    expect(buildStartedRun({ assistant_id: 'agent' }, ['i'])).toMatchObject({ input: null });
    expect(buildStartedRun({ assistant_id: 'agent' }, ['i']).command).toBeUndefined();
    const fork = { ...start, config: { configurable: { checkpoint_id: 'c' } } };
    expect(buildStartedRun(fork, ['i'])).toMatchObject({ input: start.input, config: fork.config });
  });

  it('takes the strategy in either spelling', () => {
    expect(buildStartedRun({ ...start, multitaskStrategy: 'reject' }, []).multitask_strategy).toBe(
      'reject',
    );
    expect(
      buildStartedRun(
        { ...start, multitask_strategy: 'interrupt', multitaskStrategy: 'reject' },
        [],
      ).multitask_strategy,
    ).toBe('interrupt');
    expect(() => buildStartedRun({ ...start, multitask_strategy: 'no' }, [])).toThrow('is one of');
  });

  it('needs an assistant', () => {
    expect(() => buildStartedRun({}, [])).toThrow('requires an assistant_id');
  });
});

describe('input.respond', () => {
  const thread = { assistant_id: 'agent', waiting: ['i', 'j'] };

  it('resumes by id, one or several, with what is to happen besides', () => {
    expect(buildRespondingRun({ interrupt_id: 'i', response: 'yes' }, thread).command).toEqual({
      resume: { i: 'yes' },
    });
    const responses = [
      { interrupt_id: 'i', response: 1 },
      { interrupt_id: 'j', response: null },
    ];
    const command = { resume: { i: 1, j: null }, update: { a: 1 }, goto: 'node' };
    expect(
      buildRespondingRun({ responses, update: { a: 1 }, goto: 'node' }, thread).command,
    ).toEqual(command);
  });

  it('refuses what nobody asked, and what says nothing', () => {
    expect(() => buildRespondingRun({ interrupt_id: 'k', response: 1 }, thread)).toThrow(
      'does not wait at interrupt k',
    );
    expect(() => buildRespondingRun({}, thread)).toThrow('requires an interrupt_id');
    expect(() => buildRespondingRun({ responses: [] }, thread)).toThrow('at least one');
  });
});

describe('the tree of a run', () => {
  const event = (namespace: string[], data: object): { event: string; json: string } => ({
    event: buildEventName({ method: 'lifecycle', namespace }),
    json: JSON.stringify({ namespace, data }),
  });

  it('shows each graph under the one that called it, with its last status', () => {
    const events = [
      event([], { event: 'running', graph_name: 'agent' }),
      event(['a:1'], { event: 'started', graph_name: 'a' }),
      event(['a:1', 'b:2', 'c:3'], { event: 'started', graph_name: 'c' }),
      event(['a:1'], { event: 'completed' }),
    ];
    const c = { namespace: ['a:1', 'b:2', 'c:3'], status: 'started', graph_name: 'c' };
    expect(buildAgentTree(events, { status: 'running', graph_name: 'x' })).toEqual({
      namespace: [],
      status: 'running',
      graph_name: 'agent',
      children: [{ namespace: ['a:1'], status: 'completed', graph_name: 'a', children: [c] }],
    });
  });
});
