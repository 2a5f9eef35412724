import { Link } from 'wouter';
import type { ModelInfo } from '../server/model-info.ts';
import { texts } from '../texts/texts.ts';
import { viewLink, type SavedView } from './saved-view.ts';

/** A model with more has them in the dialog of its list, so that the navigation stays short. */
const maxShown = 10;

interface ViewLinksProps {
  model: ModelInfo;
  views: readonly SavedView[];
  /** The link to what is shown now. */
  shown: string;
}

/** The saved views of a model, below its own link. */
export function ViewLinks({ model, views, shown }: ViewLinksProps) {
  if (views.length === 0) return undefined;
  return (
    <ul className="view-links" aria-label={texts.views.title(model.kind)}>
      {views.slice(0, maxShown).map((view) => {
        const link = viewLink(model, view);
        const { title, description } = view.spec;
        return (
          <li key={view.metadata.uid}>
            <Link href={link} title={description} aria-current={link === shown ? 'page' : undefined}>
              {title}
            </Link>
          </li>
        );
      })}
      {views.length > maxShown ? <li className="facts">{texts.views.more(views.length - maxShown)}</li> : undefined}
    </ul>
  );
}
