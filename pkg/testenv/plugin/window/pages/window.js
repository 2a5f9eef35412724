import { pageProtocol, servePage } from '@svc/client/page';

/** Shows a page of a plugin as the console does. What comes after # says which one, and in whose name. */
function main() {
  const { page, file, token, objects } = JSON.parse(decodeURIComponent(location.hash.slice(1)));
  const frame = document.createElement('iframe');
  frame.title = page;
  frame.src = file;
  frame.setAttribute('sandbox', 'allow-scripts');
  frame.style.cssText = 'display: block; width: 100%; border: 0';
  const failure = document.createElement('p');
  failure.setAttribute('role', 'alert');
  let served;
  const close = (fault) => {
    served?.close();
    frame.remove();
    failure.textContent = `The page was closed: ${fault}`;
  };
  frame.addEventListener('load', () => {
    if (served !== undefined) return close('moved');
    const { port1, port2 } = new MessageChannel();
    served = servePage({
      port: port1,
      send: ({ headers, path, ...request }, signal) =>
        fetch(path, {
          ...request,
          headers: { ...headers, authorization: `Bearer ${token}`, 'X-SVC-Page': page },
          signal,
          redirect: 'error',
        }),
      mayDelete: async (path) => confirm(`DELETE ${path}`),
      onHeight: (pixels) => (frame.style.height = `${pixels}px`),
      onPlace: (place) => history.replaceState(null, '', `?at=${encodeURIComponent(place)}${location.hash}`),
      onUnsaved: (isUnsaved) => (frame.dataset.unsaved = String(isUnsaved)),
      onClose: () => (frame.dataset.closed = 'true'),
      onFault: close,
    });
    const place = new URLSearchParams(location.search).get('at') ?? '';
    frame.contentWindow.postMessage({ type: pageProtocol, look: lookOfSystem(), place, objects }, '*', [port2]);
  });
  document.querySelector('#root').append(frame, failure);
}

/** The colors of the browser, by the names of the console. */
function lookOfSystem() {
  const colors = {
    '--text': 'CanvasText',
    '--muted': 'GrayText',
    '--page': 'Canvas',
    '--surface': 'Canvas',
    '--line': 'GrayText',
    '--accent': 'LinkText',
    '--accent-text': 'Canvas',
    '--danger': 'red',
    '--danger-text': 'Canvas',
    '--hover': 'Highlight',
    '--selected': 'Highlight',
    '--good': 'green',
    '--warning': 'orange',
  };
  const scheme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
  return { scheme, language: navigator.language, colors };
}

main();
