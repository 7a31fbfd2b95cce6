# A page, the same in a repository that a web server can serve as files, and that web server.
set -e
cd /srv
cp /host/page.html .
git init --quiet work
cp page.html work
git -C work add page.html
git -C work -c user.name=fixture -c user.email=fixture@fixture.test commit --quiet --message=page
git clone --quiet --bare work page.git
git -C page.git update-server-info
exec python3 /host/serve.py
