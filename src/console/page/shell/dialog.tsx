import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Button } from './controls.tsx';
import { Icon } from './icon.tsx';

/** A dialog over the page. The browser keeps the focus in it, and gives it back when it closes. */
export function Dialog({
  title,
  close,
  children,
  wide = false,
}: {
  title: string;
  close: () => void;
  children: ComponentChildren;
  wide?: boolean;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const element = dialog.current;
    element?.showModal();
    return () => element?.close();
  }, []);
  return (
    <dialog ref={dialog} class={wide ? 'wide' : ''} aria-label={title} onClose={close}>
      <header>
        <h2>{title}</h2>
        <Button class="plain" aria-label="Close" label={<Icon name="cross" />} press={close} />
      </header>
      {children}
    </dialog>
  );
}
