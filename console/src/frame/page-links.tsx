import { Link, useLocation } from 'wouter';
import { texts } from '../texts/texts.ts';
import { pageLink, usePluginPages } from './plugin-pages.ts';

/** The pages of plugins in the navigation. */
export function PageLinks() {
  const [location] = useLocation();
  const { value: pages = [] } = usePluginPages('page');
  if (pages.length === 0) return undefined;
  return (
    <section aria-label={texts.frame.pages}>
      <h2>{texts.frame.pages}</h2>
      <ul>
        {pages.map(({ name, title }) => (
          <li key={name}>
            <Link href={pageLink(name)} aria-current={location === pageLink(name) ? 'page' : undefined}>
              {title}
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}
