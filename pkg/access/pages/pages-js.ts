/**
 * Improvements of the pages by a script; every form works without it. Plain browser JavaScript, without backticks and
 * backslashes, which the template literal would interpret.
 */
export const pagesJs = `'use strict';
(function () {
  // Loading the page anew then asks for it, and does not send its form a second time.
  var here = document.querySelector('nav [aria-current]');
  history.replaceState(null, '', here ? here.href : location.href);

  document.querySelectorAll('[data-copy]').forEach(function (secret) {
    var button = document.createElement('button');
    var said = document.createElement('span');
    button.type = 'button';
    button.textContent = 'Copy ' + secret.dataset.copy;
    said.setAttribute('role', 'status');
    button.addEventListener('click', function () {
      var range = document.createRange();
      range.selectNodeContents(secret);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      // Only a page that came over TLS, or from this machine, may write to the clipboard.
      if (!navigator.clipboard) { said.textContent = ' It is selected: copy it.'; return; }
      navigator.clipboard.writeText(secret.textContent).then(
        function () { said.textContent = ' Copied.'; },
        function () { said.textContent = ' It is selected: copy it.'; }
      );
    });
    secret.after(button, said);
  });

  var reveal = document.querySelector('[data-reveal]');
  if (reveal) {
    var fields = document.querySelectorAll('input[type=password]');
    var row = document.createElement('p');
    row.className = 'choice';
    row.innerHTML = '<input type="checkbox" id="reveal"><label for="reveal">Show passwords</label>';
    reveal.before(row);
    row.firstChild.addEventListener('change', function (event) {
      fields.forEach(function (field) { field.type = event.target.checked ? 'text' : 'password'; });
    });
  }
})();
`;
