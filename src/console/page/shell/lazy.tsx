import { useSignal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';
import { Button, Skeleton } from './controls.tsx';

/**
 * Returns a part whose code comes when it is shown first. A sentence says that a release has replaced it. `pending` is
 * shown meanwhile; one that says all that the part would also stays where the part does not come.
 */
export function wrapLazy<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  pending?: ComponentType<Props>,
): ComponentType<Props> {
  let known: { Part: ComponentType<Props> } | undefined;
  return function Lazy(props: Props) {
    const part = useSignal(known);
    const isMissing = useSignal(false);
    useEffect(() => {
      if (part.peek() !== undefined) return;
      load().then(
        (Part) => (part.value = known = { Part }),
        () => (isMissing.value = true),
      );
    }, []);
    const Pending = pending;
    if (part.value !== undefined) return <part.value.Part {...props} />;
    if (Pending !== undefined) return <Pending {...props} />;
    if (isMissing.value) return <Missing />;
    return (
      <div class="deployment">
        <Skeleton lines={5} of="page" />
      </div>
    );
  };
}

function Missing() {
  return (
    <main class="empty">
      <h1 tabIndex={-1}>A part of this page can't be loaded</h1>
      <p>A newer release may have replaced it, or the connection is lost.</p>
      <Button class="main" label="Load the page again" press={() => location.reload()} />
    </main>
  );
}
