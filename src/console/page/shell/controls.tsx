import type { Signal } from '@preact/signals';
import type {
  ComponentChildren,
  ComponentProps,
  InputHTMLAttributes,
  TextareaHTMLAttributes,
} from 'preact';
import { Icon } from './icon.tsx';
import type { IconName } from './icons.ts';

/* The controls of which the page's forms consist. Further properties are those of the element. */

/** Why something failed, as a sentence; nothing where it did not. */
export const Fault = ({ text }: { text: string | undefined }) =>
  text === undefined ? null : (
    <p class="fault" role="alert">
      {text}
    </p>
  );

/** Letters of a message that stand open, and of its beginning where it is longer. */
const OPEN_LETTERS = 160;
const FIRST_LETTERS = 110;

/** A message that may be long, such as one of a container runtime: its beginning, and the rest folded. */
export function FoldedText({ text }: { text: string }) {
  if (text.length <= OPEN_LETTERS) return <span class="sentence">{text}</span>;
  const blank = text.lastIndexOf(' ', FIRST_LETTERS);
  const end = blank > 0 ? blank : FIRST_LETTERS;
  return (
    <details class="sentence">
      <summary>{text.slice(0, end)} …</summary>
      <p>… {text.slice(end).trimStart()}</p>
    </details>
  );
}

/** The shape of a content that is being read: lines, or a page with a heading and cards. */
export const Skeleton = ({
  lines = 3,
  of = 'lines',
}: {
  lines?: number;
  of?: 'lines' | 'page';
}) => (
  <div class={of === 'page' ? 'skeleton page' : 'skeleton'} aria-busy="true">
    {Array.from({ length: lines }, (_, at) => (
      <span key={at} />
    ))}
  </div>
);

/** A place that has no content: it names the content, and the way to get some. */
export const EmptyState = ({
  icon,
  title,
  children,
}: {
  icon: IconName;
  title: ComponentChildren;
  children?: ComponentChildren;
}) => (
  <div class="empty">
    <Icon name={icon} />
    <strong>{title}</strong>
    {children}
  </div>
);

/** A button. One that does nothing by itself sends its form. */
export const Button = ({
  label,
  press,
  ...rest
}: Omit<ComponentProps<'button'>, 'label' | 'onClick' | 'type'> & {
  label: ComponentChildren;
  press?: () => unknown;
}) => (
  <button {...rest} type={press === undefined ? 'submit' : 'button'} onClick={() => void press?.()}>
    {label}
  </button>
);

type SelectProps = {
  label: string;
  /** Values, and their words if these are others. */
  options: readonly (string | readonly [value: string, words: string])[];
  choose: (value: string) => void;
  value: string | number | undefined;
  name?: string;
  disabled?: boolean;
};

/** A list, of which one value is chosen. */
export const Select = ({ label, options, choose, ...rest }: SelectProps) => (
  <label class="select">
    <span>{label}</span>{' '}
    <select {...rest} onChange={({ currentTarget }) => choose(currentTarget.value)}>
      {options
        .map((one) => (typeof one === 'string' ? ([one, one] as const) : one))
        .map(([value, words]) => (
          <option key={value} value={value}>
            {words}
          </option>
        ))}
    </select>
  </label>
);

type Held = { of: Signal<string> };

/** A line of text that a signal holds. */
export const TextLine = ({ of, ...rest }: InputHTMLAttributes<HTMLInputElement> & Held) => (
  <input
    {...rest}
    value={of.value}
    onInput={({ currentTarget }) => (of.value = currentTarget.value)}
  />
);

/** Lines of text that a signal holds. */
export const TextArea = ({ of, ...rest }: TextareaHTMLAttributes<HTMLTextAreaElement> & Held) => (
  <textarea
    {...rest}
    value={of.value}
    onInput={({ currentTarget }) => (of.value = currentTarget.value)}
  />
);
