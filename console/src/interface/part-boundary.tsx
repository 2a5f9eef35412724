import { Component, type ReactNode } from 'react';
import { texts } from '../texts/texts.ts';

interface PartBoundaryProps {
  children: ReactNode;
  /** What is shown; another one is tried anew. */
  place: string;
}

interface PartState {
  place: string;
  isBroken: boolean;
}

/**
 * A part of the page that is loaded when it is opened. A new version of the console has other files, so a page that is
 * open meanwhile cannot load more of the old one; it says so, and the rest of the page stays.
 */
export class PartBoundary extends Component<PartBoundaryProps, PartState> {
  override state = { place: this.props.place, isBroken: false };

  static getDerivedStateFromError(): Partial<PartState> {
    return { isBroken: true };
  }

  static getDerivedStateFromProps({ place }: PartBoundaryProps, state: PartState): PartState | null {
    return place === state.place ? null : { place, isBroken: false };
  }

  override render(): ReactNode {
    if (!this.state.isBroken) return this.props.children;
    return (
      <div role="alert" className="note failure">
        <strong>{texts.notLoaded}</strong>
        <p>{texts.notLoadedText}</p>
        <button type="button" className="button plain" onClick={() => location.reload()}>
          {texts.reload}
        </button>
      </div>
    );
  }
}
