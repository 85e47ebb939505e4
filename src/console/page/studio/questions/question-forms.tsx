import { useSignal } from '@preact/signals';
import { useId } from 'preact/hooks';
import { FieldsShown } from '../forms/fields-shown.tsx';
import { parseJson, readFormFields } from '../forms/schema-fields.ts';
import { readAnswerFields } from '../agent-answers.ts';
import { trimShownText } from '../shown-messages.ts';
import { formatState } from '../state-text.ts';
import {
  buildDraftedAnswer,
  buildFirstDraft,
  type AnswerDraft,
  type DecisionDraft,
} from './drafts.ts';
import {
  listAskedActions,
  type AskedAction,
  type AskedShape,
  type DecisionKind,
} from '../../../../schema/agent/question-shapes.ts';
import type { ThreadQuestion } from './questions.ts';
import { Button } from '../../shell/controls.tsx';

/** The questions with which a thread waits. All of them are answered at once, each by its id. */
export function Questions({
  questions,
  isBusy,
  answer,
}: {
  questions: readonly ThreadQuestion[];
  isBusy: boolean;
  answer: (answers: { id: string; answer: unknown }[]) => Promise<boolean>;
}) {
  const drafts = useSignal<AnswerDraft[]>(questions.map(({ asked }) => buildFirstDraft(asked)));
  const faults = useSignal<Record<string, string>[]>([]);
  const handleSubmit = (event: Event): void => {
    event.preventDefault();
    const drafted = questions.map(({ asked }, index) =>
      buildDraftedAnswer(asked, drafts.value[index] ?? buildFirstDraft(asked)),
    );
    faults.value = drafted.map((one) => ('faults' in one ? one.faults : {}));
    const answers = drafted.flatMap((one, index) =>
      'answer' in one ? [{ id: questions[index]?.id ?? '', answer: one.answer }] : [],
    );
    if (answers.length === questions.length) void answer(answers);
  };
  return (
    <form class="questions" aria-label="Questions" onSubmit={handleSubmit}>
      {questions.map(({ asked }, index) => (
        <QuestionShown
          key={index}
          asked={asked}
          draft={drafts.value[index] ?? buildFirstDraft(asked)}
          faults={faults.value[index] ?? {}}
          change={(draft) => (drafts.value = drafts.value.with(index, draft))}
        />
      ))}
      <Button
        class="main"
        disabled={isBusy}
        label={questions.length === 1 ? 'Answer' : `Answer all ${questions.length}`}
      />
    </form>
  );
}

type QuestionProps = {
  asked: AskedShape;
  draft: AnswerDraft;
  faults: Record<string, string>;
  change: (draft: AnswerDraft) => void;
};

function QuestionShown({ asked, draft, faults, change }: QuestionProps) {
  if (asked.kind === 'free')
    return (
      <fieldset>
        <legend>Waiting for your answer</legend>
        <QuestionValue value={asked.value} />
        <TextAnswer
          label="Answer, in words or as JSON"
          draft={draft}
          fault={faults['text']}
          change={change}
        />
      </fieldset>
    );
  if (asked.kind === 'form' || asked.kind === 'typed') {
    const fields = readFormFields(asked.kind === 'form' ? asked.schema : asked.form.schema);
    return (
      <fieldset>
        <legend>{asked.kind === 'form' ? asked.message : 'Waiting for your answer'}</legend>
        {asked.kind === 'typed' && <QuestionValue value={asked.value} />}
        {fields === undefined ? (
          <TextAnswer
            label="Answer, as JSON"
            draft={draft}
            fault={faults['text']}
            change={change}
          />
        ) : (
          <FieldsShown
            fields={fields}
            texts={draft.texts}
            faults={faults}
            change={(texts) => change({ ...draft, texts })}
          />
        )}
      </fieldset>
    );
  }
  return (
    <>
      {listAskedActions(asked).map((action, index) => (
        <ActionShown
          key={index}
          action={action}
          draft={draft.decisions[index] ?? { kind: 'approve', args: '{}', message: '' }}
          fault={faults[index]}
          change={(decision) =>
            change({ ...draft, decisions: draft.decisions.with(index, decision) })
          }
        />
      ))}
    </>
  );
}

const LONGEST_NAME = 40;
/** Names of the field that has the question itself. */
const SPOKEN = ['question', 'message', 'prompt', 'text'];

/** A question in words, and the texts beside it, as graphs ask most; anything else is shown as it is. */
function QuestionValue({ value }: { value: unknown }) {
  const fields = Object.entries(readAnswerFields(value));
  const isPlain = fields.length > 0 && fields.every(([, one]) => typeof one === 'string');
  if (!isPlain)
    return <pre tabIndex={0}>{typeof value === 'string' ? value : formatState(value).shown}</pre>;
  return (
    <>
      {fields.map(([name, text]) => (
        <div key={name} class={SPOKEN.includes(name) ? 'asked spoken' : 'asked'}>
          {!SPOKEN.includes(name) && <span class="quiet">{name.slice(0, LONGEST_NAME)}</span>}
          <pre tabIndex={0}>{trimShownText(String(text))}</pre>
        </div>
      ))}
    </>
  );
}

type TextProps = {
  label: string;
  draft: AnswerDraft;
  fault: string | undefined;
  change: (draft: AnswerDraft) => void;
};

const TextAnswer = ({ label, draft, fault, change }: TextProps) => (
  <label class="field">
    <span>{label}</span>
    <textarea
      rows={2}
      value={draft.text}
      onInput={({ currentTarget }) => change({ ...draft, text: currentTarget.value })}
    />
    {fault !== undefined && <span class="wrong">{fault}</span>}
  </label>
);

const WORDS: Record<DecisionKind, string> = {
  approve: 'Approve',
  edit: 'Edit',
  reject: 'Reject',
  respond: 'Respond',
};

type ActionProps = {
  action: AskedAction;
  draft: DecisionDraft;
  fault: string | undefined;
  change: (draft: DecisionDraft) => void;
};

const SHORT_LETTERS = 200;
const MOST_ARGUMENTS = 12;

/** The arguments of a call: each with its name, where all of them are short. */
function Arguments({ value }: { value: unknown }) {
  const fields = Object.entries(readAnswerFields(value)).map(
    ([name, one]) => [name, typeof one === 'string' ? one : JSON.stringify(one)] as const,
  );
  const isShort = fields.every(([, text]) => text.length < SHORT_LETTERS);
  if (fields.length === 0 || fields.length > MOST_ARGUMENTS || !isShort)
    return <pre tabIndex={0}>{formatState(value).shown}</pre>;
  return (
    <dl class="arguments">
      {fields.map(([name, text]) => (
        <div key={name}>
          <dt>{name.slice(0, LONGEST_NAME)}</dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  );
}

/** The arguments of a call while they are changed: a field for each where all are texts, else JSON. */
function EditedArguments({ args, change }: { args: string; change: (args: string) => void }) {
  const read = parseJson(args);
  const fields = Object.entries(readAnswerFields('value' in read ? read.value : undefined));
  const isPlain =
    fields.length > 0 &&
    fields.length <= MOST_ARGUMENTS &&
    fields.every(([, one]) => typeof one === 'string');
  if (!isPlain)
    return (
      <label class="field">
        <span>Arguments, as JSON</span>
        <textarea
          rows={6}
          class="mono"
          value={args}
          onInput={({ currentTarget }) => change(currentTarget.value)}
        />
      </label>
    );
  const put = (at: number, text: string): void =>
    change(
      JSON.stringify(
        Object.fromEntries(fields.with(at, [fields[at]?.[0] ?? '', text])),
        undefined,
        2,
      ),
    );
  return (
    <div class="arguments">
      {fields.map(([name, text], at) => (
        <label key={name}>
          <span class="quiet">{name.slice(0, LONGEST_NAME)}</span>
          <textarea
            rows={1}
            value={String(text)}
            onInput={({ currentTarget }) => put(at, currentTarget.value)}
          />
        </label>
      ))}
    </div>
  );
}

function ActionShown({
  action: { name, args, description, allowed },
  draft,
  fault,
  change,
}: ActionProps) {
  const id = useId();
  return (
    <fieldset>
      <legend>{name === '' ? 'Waiting for your decision' : name}</legend>
      {description !== '' && <p>{description}</p>}
      {draft.kind === 'edit' ? (
        <EditedArguments
          args={draft.args}
          change={(edited) => change({ ...draft, args: edited })}
        />
      ) : (
        <Arguments value={args} />
      )}
      <div
        class="decisions"
        role="radiogroup"
        aria-label={`Decision about ${name.slice(0, LONGEST_NAME)}`}
      >
        {allowed.map((one) => (
          <label key={one} class={one === 'reject' ? 'refusal' : undefined}>
            <input
              type="radio"
              name={`decision ${id}`}
              checked={draft.kind === one}
              onChange={() => change({ ...draft, kind: one })}
            />
            {WORDS[one]}
          </label>
        ))}
      </div>
      {(draft.kind === 'reject' || draft.kind === 'respond') && (
        <label class="field">
          <span>{draft.kind === 'reject' ? 'Reason, for the agent' : 'Answer, for the agent'}</span>
          <textarea
            rows={3}
            value={draft.message}
            onInput={({ currentTarget }) => change({ ...draft, message: currentTarget.value })}
          />
        </label>
      )}
      {fault !== undefined && <p class="wrong">{fault}</p>}
    </fieldset>
  );
}
