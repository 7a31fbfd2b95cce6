import sys

import requests

sys.stdout.write(requests.get(sys.argv[1]).text)
