import type { AnyObject, JsonObject, JsonValue, Stored } from '@svc/client';
import { Fact } from '../interface/fact.tsx';
import { texts } from '../texts/texts.ts';

/** Shown elsewhere on the page. */
const shownElsewhere: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata', 'status']);
/** Enough to see what an object is; YAML has the rest. */
const limits = { depth: 4, members: 50, characters: 300 };

/** What the object says beside its metadata and status. The values of a Secret stay hidden. */
export function ObjectValues({ object }: { object: Stored<AnyObject> }) {
  const isSecret = object.apiVersion === 'v1' && object.kind === 'Secret';
  const parts = Object.entries(object as unknown as JsonObject).filter(([name]) => !shownElsewhere.has(name));
  if (parts.length === 0) return undefined;
  return (
    <section aria-labelledby="values">
      <h2 id="values">{texts.object.values}</h2>
      <dl className="facts-list">
        {parts.map(([name, value]) => (
          <Fact key={name} name={name}>
            <Value value={value} depth={1} isHidden={isSecret && name === 'data'} />
          </Fact>
        ))}
      </dl>
    </section>
  );
}

interface Place {
  depth: number;
  isHidden: boolean;
}

function Members({ entries, depth, isHidden }: Place & { entries: readonly (readonly [string, JsonValue])[] }) {
  return (
    <dl className="facts-list">
      {entries.slice(0, limits.members).map(([name, value]) => (
        <Fact key={name} name={name}>
          <Value value={value} depth={depth + 1} isHidden={isHidden} />
        </Fact>
      ))}
      {entries.length > limits.members ? (
        <Fact name="">{texts.object.more(entries.length - limits.members)}</Fact>
      ) : undefined}
    </dl>
  );
}

function Value({ value, ...place }: Place & { value: JsonValue }) {
  if (typeof value !== 'object' || value === null) return place.isHidden ? texts.object.hidden : textOf(value);
  const entries = Object.entries(value);
  if (entries.length === 0) return texts.object.none;
  if (place.depth >= limits.depth)
    return <code>{place.isHidden ? texts.object.hidden : cut(JSON.stringify(value))}</code>;
  if (!Array.isArray(value)) return <Members entries={entries} {...place} />;
  return (
    <ul>
      {value.slice(0, limits.members).map((item, index) => (
        // oxlint-disable-next-line react/no-array-index-key -- Items have no identity, and no state.
        <li key={index}>
          <Value value={item} depth={place.depth + 1} isHidden={place.isHidden} />
        </li>
      ))}
      {value.length > limits.members ? <li>{texts.object.more(value.length - limits.members)}</li> : undefined}
    </ul>
  );
}

function textOf(value: string | number | boolean | null): string {
  return value === '' ? texts.object.emptyText : cut(String(value));
}

function cut(text: string): string {
  return text.length > limits.characters ? `${text.slice(0, limits.characters)}...` : text;
}
