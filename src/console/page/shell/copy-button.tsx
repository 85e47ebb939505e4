import { useApp } from './app.ts';

/** Copies a text when it is pressed. */
export function CopyButton({ text, label }: { text: string; label: string }) {
  const app = useApp();
  const copy = (): void => {
    navigator.clipboard.writeText(text).then(
      () => app.say('Copied.'),
      () => app.say('The browser does not let this page copy.'),
    );
  };
  return (
    <button type="button" onClick={copy}>
      {label}
    </button>
  );
}
