import sys

import httpx

sys.stdout.write(httpx.get(sys.argv[1]).text)
