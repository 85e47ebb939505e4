import { useEffect } from 'preact/hooks';
import { useApp } from './app.ts';
import { findKeyCommand, type KeyCommand } from './key-commands.ts';

const TYPED = 'input, textarea, select, [contenteditable], dialog';

/** Obeys the keys of the reader, as long as the part is shown. */
export function useKeys(does: Partial<Record<KeyCommand, () => unknown>>): void {
  const { preferences } = useApp();
  useEffect(() => {
    let before: string | undefined;
    const press = (event: KeyboardEvent): void => {
      const command = findKeyCommand({
        key: event.key,
        before,
        isTyping: event.target instanceof Element && event.target.closest(TYPED) !== null,
        isControl: event.ctrlKey || event.metaKey,
        hasModifier: event.ctrlKey || event.metaKey || event.altKey,
        singleKeys: preferences.singleKeys.peek() === 'on',
      });
      before = event.key;
      const action = command === undefined ? undefined : does[command];
      if (action === undefined) return;
      event.preventDefault();
      action();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  });
}
