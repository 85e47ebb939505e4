import { usePage } from './page-parts.ts';
import { Button } from './controls.tsx';

/** Copies a text when it is pressed. */
export function CopyButton({ text, label }: { text: string; label: string }) {
  const page = usePage();
  const copy = (): void => {
    navigator.clipboard.writeText(text).then(
      () => page.announce('Copied.'),
      () => page.announce('The browser does not let this page copy.'),
    );
  };
  return <Button label={label} press={copy} />;
}
