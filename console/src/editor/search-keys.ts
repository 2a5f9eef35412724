import { Compartment, type Extension } from '@codemirror/state';
import { keymap, type EditorView } from '@codemirror/view';

/** Those of the search that may be pressed before it is there. */
const keys = ['Mod-f', 'F3', 'Mod-g', 'Mod-Shift-l', 'Mod-Alt-g', 'Mod-d'];

/** The keys of a search that loads with the first of them, because few texts are searched. */
export function searchKeys(): Extension {
  const place = new Compartment();
  const press = async (view: EditorView, pressed: string): Promise<void> => {
    const { searchKeymap } = await import('@codemirror/search');
    view.dispatch({ effects: place.reconfigure(keymap.of(searchKeymap)) });
    searchKeymap.find(({ key }) => key === pressed)?.run?.(view);
  };
  const load = (key: string) => ({
    key,
    preventDefault: true,
    run: (view: EditorView) => {
      // Without it the editor is as it was, and the key may be pressed again.
      press(view, key).catch(() => undefined);
      return true;
    },
  });
  return place.of(keymap.of(keys.map(load)));
}
