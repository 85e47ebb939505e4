import type { ComponentChildren, ComponentProps } from 'preact';
import { usePage } from './page-parts.ts';
import { Button } from './controls.tsx';

type CopyProps = Omit<ComponentProps<'button'>, 'label' | 'onClick' | 'type'> & {
  /** The text, or how to get it, where that takes a while. */
  text: string | (() => string);
  label: ComponentChildren;
};

/** Copies a text when it is pressed. Further properties are those of the button. */
export function CopyButton({ text, label, ...rest }: CopyProps) {
  const page = usePage();
  const copy = (): void => {
    navigator.clipboard.writeText(typeof text === 'string' ? text : text()).then(
      () => page.announce('Copied.'),
      () => page.announce('The browser does not let this page copy.'),
    );
  };
  return <Button {...rest} label={label} press={copy} />;
}
