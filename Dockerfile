# An image that grades a class, isolated and without a network: docs/instructors.md, "In a
# container". On a machine with a network:
#   docker build -t grading .
# Python lies in folders that every user may enter, so that both strong isolation levels can work
# (docs/security.md).
FROM debian:12-slim

RUN apt-get update \
    && apt-get install -y --no-install-recommends python3 python3-venv bubblewrap git libseccomp2 \
    && rm -rf /var/lib/apt/lists/*

# Torch comes from an index of its own: what PyPI has for Linux brings gigabytes of CUDA.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
ENV PATH=/opt/grading/bin:$PATH PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1
COPY pyproject.toml /opt/assignment/
RUN umask 022 \
    && cd /opt/assignment \
    && python3 -m venv /opt/grading \
    && python -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['project']['dependencies'], sep='\n')" > /tmp/pins \
    && grep '^torch>=' /tmp/pins > /tmp/torch \
    && pip install --no-cache-dir --index-url "$TORCH_INDEX" -r /tmp/torch \
    && pip install --no-cache-dir '.[instructor]' \
    && rm -rf /tmp/pins /tmp/torch build *.egg-info

COPY . /opt/assignment
WORKDIR /opt/assignment
RUN mkdir /submissions /class
VOLUME ["/class"]
ENTRYPOINT ["python", "-m", "instructor"]
CMD ["grade", "/class"]
