import { Component, type ComponentChildren } from 'preact';
import { describeFailure } from '../api/failure-text.ts';
import { Fault, Button } from './controls.tsx';

/** Stands between a part that failed and an empty page: a sentence, and the way on. */
export class FaultWall extends Component<
  { children: ComponentChildren },
  { fault: string | undefined }
> {
  override state = { fault: undefined };

  static override getDerivedStateFromError(error: unknown): { fault: string } {
    return { fault: describeFailure(error) };
  }

  override render() {
    if (this.state.fault === undefined) return this.props.children;
    return <FaultShown fault={this.state.fault} />;
  }
}

/** A failure as a sentence, with a button that loads the page again. */
export function FaultShown({ fault }: { fault: string }) {
  return (
    <main class="empty">
      <h1 tabIndex={-1}>This page has failed</h1>
      <Fault text={fault} />
      <Button class="main" label="Load the page again" press={() => location.reload()} />
    </main>
  );
}
